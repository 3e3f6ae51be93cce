/** This file is loaded into an app with --import: its wall clock is the real one plus the milliseconds in CLOCK_OFFSET_FILE. Its monotonic clock and its timers go on as they are. */
import { readFileSync } from 'node:fs';

const READ_MS = 100;
const RealDate = Date;
const realNow = Date.now;
let offsetMs = 0;

function read() {
  const text = readFileSync(process.env.CLOCK_OFFSET_FILE, 'utf8');
  // The file is empty while it is written.
  if (text !== '') offsetMs = Number(text);
}

globalThis.Date = class Date extends RealDate {
  constructor(...given) {
    if (given.length === 0) super(realNow() + offsetMs);
    else super(...given);
  }

  static now() {
    return Math.trunc(realNow() + offsetMs);
  }
};
read();
setInterval(read, READ_MS).unref();
