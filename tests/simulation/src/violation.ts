/** A promise of the product that was broken. */
export class Violation extends Error {}
