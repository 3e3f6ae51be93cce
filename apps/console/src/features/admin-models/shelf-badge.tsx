import type { Model } from '../../api/catalogue.ts';
import { Badge } from '../../ui/badge.tsx';
import { useWords } from '../../words/words.ts';

export function ShelfBadge({ of: { is_on_shelf: isOnShelf } }: { of: Model }) {
  const { admin } = useWords();
  const { onShelf, offShelf } = admin.models;
  return <Badge tone={isOnShelf ? 'good' : 'off'}>{isOnShelf ? onShelf : offShelf}</Badge>;
}
