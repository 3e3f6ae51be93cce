export const PASSWORD_ASKED = 'tollgate:password-asked';

interface Question {
  promise: Promise<boolean>;
  answer: (isGiven: boolean) => void;
}
let open: Question | undefined;

/** Asks for the password above whatever is open. Calls that need it at the same time share one question. */
export function askPassword(): Promise<boolean> {
  if (open) return open.promise;
  const { promise, resolve } = Promise.withResolvers<boolean>();
  open = {
    promise,
    answer: (isGiven) => {
      open = undefined;
      resolve(isGiven);
    },
  };
  window.dispatchEvent(new Event(PASSWORD_ASKED));
  return promise;
}

export function answerPassword(isGiven: boolean): void {
  open?.answer(isGiven);
}
