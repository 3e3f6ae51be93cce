import { z } from 'zod';

/** A username has letters and digits of any script and the signs of an e-mail address: no markup, no spaces, no direction marks (security S41). */
const USERNAME = 'must be 1 to 64 letters, digits or . _ @ + -';

export const newUsername = z
  .string()
  .normalize('NFKC')
  .regex(/^[\p{L}\p{N}._@+-]{1,64}$/u, USERNAME)
  .meta({ 'x-rules': [USERNAME] });
