export const USER_STATUSES = ['pending', 'active', 'rejected', 'frozen', 'deleted'] as const;
export type UserStatus = (typeof USER_STATUSES)[number];
export type UserMove = 'approve' | 'reject' | 'freeze' | 'unfreeze' | 'delete';

const MOVES: Record<UserMove, { from: readonly UserStatus[]; to: UserStatus }> = {
  // A rejected account may be approved after all.
  approve: { from: ['pending', 'rejected'], to: 'active' },
  reject: { from: ['pending'], to: 'rejected' },
  freeze: { from: ['active'], to: 'frozen' },
  unfreeze: { from: ['frozen'], to: 'active' },
  delete: { from: ['pending', 'active', 'rejected', 'frozen'], to: 'deleted' },
};

/** The status a move leads to; undefined when the present one does not allow it. */
export function statusAfter(move: UserMove, status: UserStatus): UserStatus | undefined {
  return MOVES[move].from.includes(status) ? MOVES[move].to : undefined;
}
