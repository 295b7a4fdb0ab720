#include "cli/text_table.h"
