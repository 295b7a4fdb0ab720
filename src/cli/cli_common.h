#include "cli/common.h"
