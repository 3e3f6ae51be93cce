/** The share of capitals within the sentences of a text in which one shows nothing: German nouns, names, code. */
const CAPITALS = 0.1;
/** Letters by which a script is known. */
const LETTERS_MIN = 12;
/** As many letters of one script as make more than a name. */
const SCRIPTS = [/(?:\p{Script=Latin}\P{L}*){12}/u, /(?:(?!\p{Script=Latin})\p{L}\P{L}*){4}/u];

/** Returns whether the beginning is in a script that the text does not have. */
export function isForeign(delivered: string, beginning: string): boolean {
  const letters = delivered.match(/\p{L}/gu)?.length ?? 0;
  const words = beginning.replace(/^\P{L}+/u, '');
  return (
    letters >= LETTERS_MIN &&
    SCRIPTS.some((script) => script.exec(words)?.index === 0 && !script.test(delivered))
  );
}

/** Returns whether the text stops within a sentence and the beginning opens a new one: with a capital, where the text has hardly any within its sentences. */
export function isSentenceAnew(delivered: string, beginning: string): boolean {
  const text = delivered.trimEnd();
  const seam = delivered.slice(text.length) + beginning.slice(0, beginning.search(/\S|$/u));
  if (seam.includes('\n') || !/[\p{L}\p{N},]$/u.test(text)) return false;
  const first = /^\s*(\p{Lu}\p{Ll}*)(?!\p{L})/u.exec(beginning)?.[1];
  if (first === undefined) return false;
  // Names in camel case are cut within, and a space hardly follows their parts.
  if (seam === '' && /\p{Ll}$/u.test(text))
    return !/\p{Ll}\p{Lu}/u.test(text) || /^\p{L}+,? \p{Ll}+ /u.test(beginning);
  const within = text.match(/(?<=[\p{L}\p{N},][ \t])\p{L}+/gu) ?? [];
  const capitals = within.filter((word) => /^\p{Lu}/u.test(word));
  return capitals.length < within.length * CAPITALS && !capitals.includes(first);
}

/** Returns whether the beginning opens a block of code where none can begin. */
export function isFenceAnew(delivered: string, beginning: string): boolean {
  const fence = /^\s*```([^\n]*)/u.exec(beginning);
  if (!fence) return false;
  const isWithin = delivered.split('```').length % 2 === 0;
  const isAtLine = /\n[ \t]*$/u.test(delivered) || /^\s*\n/u.test(beginning);
  if (!isAtLine) return true;
  return isWithin && fence[1]?.trim() !== '';
}
