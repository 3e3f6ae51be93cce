import { Page as Frame } from '../../ui/page.tsx';
import { useWords } from '../../words/words.ts';

export function Page() {
  const { shell } = useWords();
  return <Frame title={shell.nav.overview}>{null}</Frame>;
}
