/* Making models. */
#ifndef BLV_LEARN_MODEL_COPY_H
#define BLV_LEARN_MODEL_COPY_H

#include "bilevel/model.h"

/* A model with its own copies of everything that `like` has. */
blv_error blv_model_copy(blv_model **model, const blv_model *like, blv_message *why);

#endif
