import { filesIn, folderChart, importsBetween, layersOf, ORDERED_SOURCES } from './folder-graph.ts';
import { read } from './tracked-files.ts';

const END = '<!-- /folders -->';

/** Returns the text with the chart of each ordered source between its markers. */
export function withFolderCharts(text: string): string {
  return ORDERED_SOURCES.reduce((page, root) => {
    const begin = `<!-- folders of ${root}, drawn by npm run generate -->`;
    const from = page.indexOf(begin) + begin.length;
    const to = page.indexOf(END, from);
    if (from < begin.length || to === -1)
      throw new Error(`docs/architecture.md lacks "${begin}" or "${END}" after it`);
    const chart = folderChart(layersOf(read(`${root}/README.md`)), importsBetween(filesIn(root)));
    return `${page.slice(0, from)}\n${chart}\n${page.slice(to)}`;
  }, text);
}
