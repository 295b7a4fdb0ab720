#include "cli/describe.h"
