/** Holds what a browser remembers about how a person likes the console. It never holds anything secret. */
type Preference = 'theme' | 'language' | 'zone' | 'rows' | 'navigation';

export function recall(name: Preference): string | null {
  try {
    return localStorage.getItem(storedName(name));
  } catch {
    return null;
  }
}

export function remember(name: Preference, value: string): void {
  try {
    localStorage.setItem(storedName(name), value);
  } catch {
    // A browser that keeps nothing forgets this, too.
  }
}

/** Calls the listener when another tab of this browser changes a preference. */
export function onChangedElsewhere(name: Preference, listener: () => void): void {
  window.addEventListener('storage', ({ key }) => {
    // The event has no key when everything was cleared.
    if (key === null || key === storedName(name)) listener();
  });
}

const storedName = (name: Preference): string => `tollgate.${name}`;
