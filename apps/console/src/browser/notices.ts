export interface Notice {
  title: string;
  detail?: string | undefined;
  isBad?: boolean;
}

export const NOTICE = 'tollgate:notice';
const waiting: Notice[] = [];

/** Shows the result of an action, or why it failed; disappears by itself unless it is an error. */
export function notify(notice: Notice): void {
  waiting.push(notice);
  window.dispatchEvent(new Event(NOTICE));
}

/** Passes each notice on once, those that already wait included. */
export function onNotices(show: (notice: Notice) => void): () => void {
  const pass = (): void => waiting.splice(0).forEach(show);
  pass();
  window.addEventListener(NOTICE, pass);
  return () => window.removeEventListener(NOTICE, pass);
}
