#include "cli/text.h"
