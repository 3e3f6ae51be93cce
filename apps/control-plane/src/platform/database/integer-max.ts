/** Is the largest value of an `integer` column, which ids and limits have. */
export const INTEGER_MAX = 2_147_483_647;
