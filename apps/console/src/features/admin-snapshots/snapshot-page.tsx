import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { snapshotQuery, snapshotsQuery, type Snapshot } from '../../api/fleet.ts';
import { paths } from '../../paths.ts';
import { formatCount } from '../../ui/format.ts';
import { CopyText } from '../../ui/copy.tsx';
import { Facts, Page as Frame, Panel } from '../../ui/page.tsx';
import { Loaded } from '../../ui/states.tsx';
import { useSpeech, useWords } from '../../words/words.ts';
import { Exact } from '../../ui/time/time.tsx';
import { ActivityPanel } from '../admin-activity/activity-panel.tsx';
import { Difference } from './difference.tsx';
import { NodesOn } from './nodes-on.tsx';
import { PublishedBy, RollBack, VersionBadges } from './version.tsx';

/** Shows what a version changed, against the one before. */
export function Page() {
  const { words, locale } = useSpeech();
  const { snapshots } = words.admin;
  const { version = '' } = useParams({ strict: false });
  const found = useQuery(snapshotQuery(Number(version)));
  const { data: first } = useQuery(snapshotsQuery(1));
  const newest = first?.data[0];
  return (
    <Frame
      title={`${snapshots.version} ${formatCount(Number(version), locale)}`}
      parent={{ to: paths.adminSnapshots(), label: snapshots.title }}
      actions={found.data && <RollBack of={found.data} newest={newest} />}
    >
      <Loaded of={found}>
        {(snapshot) => (
          <>
            <VersionFacts of={snapshot} newest={newest} />
            <Difference to={snapshot.version} />
            <ChangesBehind of={snapshot} />
          </>
        )}
      </Loaded>
    </Frame>
  );
}

function VersionFacts({ of, newest }: { of: Snapshot; newest: Snapshot | undefined }) {
  const { admin } = useWords();
  const { snapshots, nodes } = admin;
  const hasBadge = of.version === newest?.version || of.pinned || of.rollback_of !== null;
  const state = (
    <span className="flex flex-wrap gap-2">
      <VersionBadges of={of} newest={newest} />
    </span>
  );
  return (
    <Panel>
      <Facts
        facts={[
          { name: snapshots.state, value: hasBadge ? state : snapshots.replaced },
          { name: snapshots.at, value: <Exact at={of.created_at} /> },
          { name: snapshots.by, value: <PublishedBy of={of} /> },
          { name: nodes.title, value: <NodesOn version={of.version} /> },
          {
            name: snapshots.checksum,
            value: <CopyText text={of.checksum} label={snapshots.checksum} />,
            isWide: true,
          },
        ]}
      />
    </Panel>
  );
}

const CHANGES_WORDS = {
  en: {
    title: 'Who changed what',
    empty: 'The log has no change between the version before and this one',
  },
  zh: { title: '谁做了哪些更改', empty: '日志中在上一版本与此版本之间没有更改' },
};

/** A change is published within so long after it was made; one that came while the version before was compiled is in this one. */
const PUBLISHED_WITHIN_MS = 2_000;

/** Lists the records that a configuration is compiled from. */
const ROUTED_KINDS = ['model', 'upstream', 'route', 'snapshot'];

/** Names who made the changes: what the log has from shortly before the version before until this one. */
function ChangesBehind({ of: { version, created_at: to } }: { of: Snapshot }) {
  const { title, empty } = CHANGES_WORDS[useSpeech().language];
  const before = useQuery({ ...snapshotQuery(version - 1), enabled: version > 1, retry: false });
  if (version > 1 && before.isPending) return null;
  const from = Date.parse(before.data?.created_at ?? to) - PUBLISHED_WITHIN_MS;
  return (
    <ActivityPanel
      title={title}
      which={{ from: new Date(from).toISOString(), to }}
      kinds={ROUTED_KINDS}
      empty={empty}
    />
  );
}
