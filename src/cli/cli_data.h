/* The actions of `bilevel data`. argv[0] is "bilevel data NAME"; the return value is the exit code.
 */
#ifndef CLI_DATA_H
#define CLI_DATA_H

int cmd_data_info(int argc, char **argv);
int cmd_data_stats(int argc, char **argv);
int cmd_data_convert(int argc, char **argv);
int cmd_data_split(int argc, char **argv);
int cmd_data_corrupt(int argc, char **argv);

#endif
