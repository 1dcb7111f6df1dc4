// Graphs are refused. NCCL reaches these only while a stream is being captured, which no stream here ever is.
#include "cudart/abi.hpp"
#include "cudart/node.hpp"
#include "export.hpp"

// The arguments do not matter to a function that reads none of them.
#define ANGIO_REFUSED(name)                           \
  ANGIO_STAND_IN angio::phantom::cuda::Error name() { \
    return angio::phantom::refuse(#name);             \
  }

ANGIO_REFUSED(cudaGraphAddDependencies)
ANGIO_REFUSED(cudaGraphAddDependencies_v2)
ANGIO_REFUSED(cudaGraphAddEventRecordNode)
ANGIO_REFUSED(cudaGraphAddEventWaitNode)
ANGIO_REFUSED(cudaGraphAddHostNode)
ANGIO_REFUSED(cudaGraphAddKernelNode)
ANGIO_REFUSED(cudaGraphDestroy)
ANGIO_REFUSED(cudaGraphExecDestroy)
ANGIO_REFUSED(cudaGraphInstantiate)
ANGIO_REFUSED(cudaGraphLaunch)
ANGIO_REFUSED(cudaGraphRetainUserObject)
ANGIO_REFUSED(cudaGraphReleaseUserObject)
ANGIO_REFUSED(cudaStreamBeginCapture)
ANGIO_REFUSED(cudaStreamEndCapture)
ANGIO_REFUSED(cudaStreamUpdateCaptureDependencies)
ANGIO_REFUSED(cudaStreamUpdateCaptureDependencies_v2)
ANGIO_REFUSED(cudaUserObjectCreate)
ANGIO_REFUSED(cudaUserObjectRelease)
ANGIO_REFUSED(cudaUserObjectRetain)
