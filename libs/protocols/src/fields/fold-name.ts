/**
 * Readers that ignore case, such as Go's encoding/json, take two names for one when they fold alike. Upper-case first: the long s becomes an S,
 * then the Kelvin sign becomes a k.
 */
export function foldName(name: string): string {
  return name.toUpperCase().toLowerCase();
}
