/**
 * Folds a name as readers that ignore case do, such as Go's encoding/json. Upper case comes first: the long s becomes an S, then the Kelvin sign
 * becomes a k.
 */
export function foldName(name: string): string {
  return name.toUpperCase().toLowerCase();
}
