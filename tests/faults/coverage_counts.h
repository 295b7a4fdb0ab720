/* Counts of lines and branches, in a build that has them: the runs that a process starts count in
 * its memory, and it writes the files once. Without them every run would add to hundreds of files.
 */
#ifndef COVERAGE_COUNTS_H
#define COVERAGE_COUNTS_H

#ifdef BLV_COVERAGE
void coverage_share(void); /* with the forks that this process makes from now on */
void coverage_write(void);
#else
static inline void coverage_share(void) {
}
static inline void coverage_write(void) {
}
#endif

#endif
