export const USER_STATUSES = ['pending', 'active', 'rejected', 'frozen', 'deleted'] as const;
export type UserStatus = (typeof USER_STATUSES)[number];
export type UserMove = 'approve' | 'reject' | 'freeze' | 'unfreeze' | 'delete';

const MOVES: Record<UserMove, { from: readonly UserStatus[]; to: UserStatus }> = {
  // A rejected account may still be approved.
  approve: { from: ['pending', 'rejected'], to: 'active' },
  reject: { from: ['pending'], to: 'rejected' },
  freeze: { from: ['active'], to: 'frozen' },
  unfreeze: { from: ['frozen'], to: 'active' },
  delete: { from: ['pending', 'active', 'rejected', 'frozen'], to: 'deleted' },
};

/** Returns the status after a move; undefined when the current status does not allow it. */
export function statusAfter(move: UserMove, status: UserStatus): UserStatus | undefined {
  return MOVES[move].from.includes(status) ? MOVES[move].to : undefined;
}
