/** This is the name that `ops.ts` had; timers of operators still call it. */
import './ops.ts';
