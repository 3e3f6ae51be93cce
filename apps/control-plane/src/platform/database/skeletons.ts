import unhomoglyph from 'unhomoglyph';

/**
 * Texts that two names share when they look alike: UTS #39 skeletons of the name as it is written, and in small letters, because names are compared without case
 * (Latin `Ivan` looks like `lvan`, and Cyrillic `А` like Latin `a` only once both are small). https://www.unicode.org/reports/tr39/#Confusable_Detection
 */
export function skeletonsOf(name: string): string[] {
  return [...new Set([name, name.toLowerCase()].map((form) => skeleton(form).toLowerCase()))];
}

function skeleton(text: string): string {
  return unhomoglyph(text.normalize('NFD')).normalize('NFD');
}
