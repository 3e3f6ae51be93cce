import { useWords } from '../../words/words.ts';

export function AllowedModels({ allowed }: { allowed: string }) {
  const { keys } = useWords();
  if (allowed === '' || allowed === '*')
    return <span className="text-text-2">{keys.allModels}</span>;
  return <code className="foreign line-clamp-2 max-w-64">{allowed.replaceAll(',', ', ')}</code>;
}
