#include "cli/csv_text.h"
