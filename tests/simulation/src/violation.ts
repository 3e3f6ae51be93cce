/** Is thrown when a promise of the product was broken. */
export class Violation extends Error {}
