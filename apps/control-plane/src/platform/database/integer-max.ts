/** The largest value of an `integer` column: ids, limits. */
export const INTEGER_MAX = 2_147_483_647;
