/* Texts of errors and outcomes, from the lists in status.h. */
#include "bilevel/status.h"

#define QUOTE(x) #x
#define VERSION_TEXT(major, minor, patch) QUOTE(major) "." QUOTE(minor) "." QUOTE(patch)

const char *blv_version(void) {
    return VERSION_TEXT(BLV_VERSION_MAJOR, BLV_VERSION_MINOR, BLV_VERSION_PATCH);
}

const char *blv_error_text(blv_error error) {
    switch (error) {
#define X(name, value, text)                                                                       \
    case name:                                                                                     \
        return text;
        BLV_ERROR_LIST(X)
#undef X
    }
    return "unknown error";
}

const char *blv_outcome_word(blv_outcome outcome) {
    switch (outcome) {
#define X(name, value, word, text)                                                                 \
    case name:                                                                                     \
        return word;
        BLV_OUTCOME_LIST(X)
#undef X
    }
    return "unknown";
}

const char *blv_outcome_text(blv_outcome outcome) {
    switch (outcome) {
#define X(name, value, word, text)                                                                 \
    case name:                                                                                     \
        return text;
        BLV_OUTCOME_LIST(X)
#undef X
    }
    return "unknown outcome";
}
