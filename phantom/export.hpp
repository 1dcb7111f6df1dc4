// The mark of a function that a stand-in offers to the process it is loaded into. Everything else stays
// hidden, so that nothing of ours takes the place of a function of the host program by accident.
#pragma once

#define ANGIO_STAND_IN extern "C" __attribute__((visibility("default")))
