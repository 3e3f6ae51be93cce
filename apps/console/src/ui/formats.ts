const numbers = new Map<string, Intl.NumberFormat>();
const times = new Map<string, Intl.DateTimeFormat>();

/** Building a format costs a hundred times what using it does, and a page uses a handful of them thousands of times. */
export function numberFormat(
  locale: string,
  options: Intl.NumberFormatOptions = {},
): Intl.NumberFormat {
  return remembered(numbers, locale, options, () => new Intl.NumberFormat(locale, options));
}

export function timeFormat(
  locale: string,
  options: Intl.DateTimeFormatOptions,
): Intl.DateTimeFormat {
  return remembered(times, locale, options, () => new Intl.DateTimeFormat(locale, options));
}

function remembered<Format>(
  formats: Map<string, Format>,
  locale: string,
  options: object,
  build: () => Format,
): Format {
  const name = `${locale} ${JSON.stringify(options)}`;
  const known = formats.get(name) ?? build();
  formats.set(name, known);
  return known;
}
