#include "cli/outputs.h"
