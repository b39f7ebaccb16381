#include "session.h"

static __thread session *now;

session *session_now(void) { return now; }

void session_set(session *s) { now = s; }
