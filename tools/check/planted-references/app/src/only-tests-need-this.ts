/** Belongs to the project, although no entry reaches it. */
export const unreached = true;
