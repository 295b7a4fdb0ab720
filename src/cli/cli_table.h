#include "cli/text_table.h"
#define cli_table report_table
#define cli_table_row report_table_row
#define cli_table_add report_table_add
#define cli_table_heading report_table_heading
#define cli_table_free report_table_free
