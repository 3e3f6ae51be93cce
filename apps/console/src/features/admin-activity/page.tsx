import { useQuery } from '@tanstack/react-query';
import { History } from '../../ui/icons.tsx';
import { activityQuery } from '../../api/admin.ts';
import { CursorPager } from '../../ui/tables/cursor-pager.tsx';
import { SelectFilter } from '../../ui/tables/select-filter.tsx';
import { Page as Frame, Panel } from '../../ui/page.tsx';
import {
  optional,
  useSearchState,
  withDefault,
  z,
  type SearchOf,
} from '../../ui/tables/search-state.ts';
import { EmptyState, Loaded } from '../../ui/states.tsx';
import { useSpeech } from '../../words/words.ts';
import type { Prefetch } from '../../page-module.ts';
import { actionsNamed } from './actions.ts';
import { ActivityTable } from './activity-table.tsx';

const search = z.object({ action: withDefault(z.string(), ''), cursor: optional(z.string()) });

const questionOf = ({ action, cursor }: SearchOf<typeof search>) => ({
  ...(action !== '' && { action }),
  ...(cursor !== undefined && { cursor }),
});

export const prefetch: Prefetch = (ask, { search: raw }) =>
  ask(activityQuery(questionOf(search.parse(raw))));

export function Page() {
  const { words, language } = useSpeech();
  const { activity } = words.admin;
  const [{ action, cursor }, change] = useSearchState(search);
  const list = useQuery(activityQuery(questionOf({ action, cursor })));
  const title = action === '' ? activity.empty : activity.noMatch;
  const empty = <EmptyState icon={<History aria-hidden />} title={title} />;
  return (
    <Frame
      title={activity.title}
      purpose={activity.purpose}
      bar={
        <SelectFilter
          label={activity.filter}
          value={action}
          options={[{ value: '', label: activity.all }, ...actionsNamed(language)]}
          onChange={(name) => change({ action: name, cursor: undefined })}
        />
      }
    >
      <Panel isFlush>
        <Loaded of={list}>
          {({ data, next_cursor: next }) => (
            <>
              <ActivityTable label={activity.title} rows={data} empty={empty} />
              <CursorPager
                cursor={cursor}
                next={next}
                onCursor={(value) => change({ cursor: value })}
              />
            </>
          )}
        </Loaded>
      </Panel>
    </Frame>
  );
}
