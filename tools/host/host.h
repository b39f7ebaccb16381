/* What the tools share: tables in, models and texts out. No command and no tool is known here.
 *
 * A problem ends the program where it is found: fail() for work that cannot be done (exit 1), usage() for a wrong call
 * (exit 2). No output is touched before it is complete, so there is nothing to undo. */
#ifndef HOST_H
#define HOST_H

#include "text.h" /* first: it asks for POSIX */

#include "columns.h"
#include "csv.h"
#include "files.h"
#include "folds.h"
#include "guess.h"
#include "idx.h"
#include "json.h"
#include "knots.h"
#include "machine.h"
#include "model.h"
#include "options.h"
#include "patches.h"
#include "pool.h"
#include "progress.h"
#include "table.h"

#endif
