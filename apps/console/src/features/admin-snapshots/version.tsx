import { useState } from 'react';
import { rollBack, type Snapshot } from '../../api/fleet.ts';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/forms/button.tsx';
import { ConfirmDialog } from '../../ui/forms/confirm-dialog.tsx';
import { formatCount } from '../../ui/format.ts';
import { useSpeech, useWords } from '../../words/words.ts';
import { AccountName } from '../admin-users/account-name.tsx';
import { Difference } from './difference.tsx';

interface VersionProps {
  of: Snapshot;
  /** Holds what nodes run, or are about to. */
  newest: Snapshot | undefined;
}

/** Shows whether a version is in force, pinned, or an earlier one published again. */
export function VersionBadges({ of: { version, pinned, rollback_of: of }, newest }: VersionProps) {
  const { words, locale } = useSpeech();
  const { snapshots } = words.admin;
  return (
    <>
      {version === newest?.version && <Badge tone="good">{snapshots.inForce}</Badge>}
      {pinned && <Badge tone="warn">{snapshots.pinned}</Badge>}
      {of !== null && <Badge tone="accent">{snapshots.rollbackOf(formatCount(of, locale))}</Badge>}
    </>
  );
}

/** Changes are published by themselves; a rollback is made by a person. */
export function PublishedBy({ of: { created_by: id } }: { of: Snapshot }) {
  const { snapshots } = useWords().admin;
  return id === null ? snapshots.automatic : <AccountName id={id} />;
}

/** Publishes this version again, after it has said what that means. */
export function RollBack({ of: { version }, newest, size }: VersionProps & { size?: 'small' }) {
  const { words, locale } = useSpeech();
  const { snapshots } = words.admin;
  const [isOpen, setOpen] = useState(false);
  const isInForce = version === newest?.version || version === newest?.rollback_of;
  return (
    <>
      <Button
        {...(size && { size })}
        blockedBy={isInForce ? snapshots.isInForce : undefined}
        onClick={() => setOpen(true)}
      >
        {snapshots.rollBack}
      </Button>
      {isOpen && (
        <ConfirmDialog
          title={snapshots.rollBackTitle(formatCount(version, locale))}
          text={snapshots.rollBackText}
          verb={snapshots.rollBack}
          isOpen
          onClose={() => setOpen(false)}
          act={() => rollBack(version)}
          done={(answer) => snapshots.rolledBack(formatCount(answer.version, locale))}
        >
          {newest && <Difference from={newest.version} to={version} />}
        </ConfirmDialog>
      )}
    </>
  );
}
