import { useQuery } from '@tanstack/react-query';
import { keysQuery } from '../../api/keys.ts';
import { subscriptionsQuery } from '../../api/models.ts';
import type { Search } from '../../search.ts';
import { Button } from '../../ui/button.tsx';
import { SelectFilter } from '../../ui/field.tsx';
import { useWords } from '../../words/words.ts';
import type { UsageSearch } from './usage-search.ts';

/** What narrows usage of an account down. */
export function FilterBar({
  search,
  onChange,
  userId,
}: {
  search: UsageSearch;
  onChange: (patch: Search) => void;
  userId: number;
}) {
  const { usage, general } = useWords();
  const { data: models } = useQuery(subscriptionsQuery(userId));
  const { data: keys } = useQuery(keysQuery({ user_id: userId }));
  const narrow = (patch: Search): void => onChange({ ...patch, cursor: undefined });
  const isNarrowed =
    search.model_id !== undefined || search.key_id !== undefined || search.outcome !== undefined;
  return (
    <>
      <SelectFilter
        label={usage.model}
        value={String(search.model_id ?? '')}
        onChange={(value) => narrow({ model_id: value })}
        options={[
          { value: '', label: usage.allModels },
          ...(models ?? []).map(({ model_id: id, model }) => ({ value: String(id), label: model })),
        ]}
      />
      <SelectFilter
        label={usage.key}
        value={String(search.key_id ?? '')}
        onChange={(value) => narrow({ key_id: value })}
        options={[
          { value: '', label: usage.allKeys },
          ...(keys?.data ?? []).map(({ id, name }) => ({ value: String(id), label: name })),
        ]}
      />
      <SelectFilter
        label={usage.outcome}
        value={search.outcome ?? ''}
        onChange={(value) => narrow({ outcome: value })}
        options={[
          { value: '', label: usage.allOutcomes },
          ...Object.entries(usage.outcomes).map(([value, label]) => ({ value, label })),
        ]}
      />
      <SelectFilter
        label={usage.groupBy}
        value={search.group}
        onChange={(group) => onChange({ group })}
        options={(['model', 'key', 'upstream'] as const).map((value) => ({
          value,
          label: `${usage.groupBy}: ${usage.groups[value]}`,
        }))}
      />
      {isNarrowed && (
        <Button
          look="quiet"
          onClick={() => narrow({ model_id: undefined, key_id: undefined, outcome: undefined })}
        >
          {general.clear}
        </Button>
      )}
    </>
  );
}
