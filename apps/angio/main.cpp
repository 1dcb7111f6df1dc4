#include <CLI/CLI.hpp>

int main(int argc, char** argv) {
  CLI::App app{"Looks into the arteries of an AI cluster and says what narrows them"};
  CLI11_PARSE(app, argc, argv);
}
