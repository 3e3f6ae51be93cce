/** These are violations that `npm run check -- "planted lint"` must find. */
async function work(): Promise<void> {}

export function forgetsAPromise(): void {
  work();
}

export function passesAPromiseAsVoid(items: readonly string[]): void {
  items.forEach(async () => work());
}

export function missesACase(state: 'open' | 'closed'): string {
  let text = '';
  switch (state) {
    case 'open':
      text = 'open';
  }
  return text;
}
