/** Is the server's most for one page. */
const PAGE_SIZE = 100;
/** A list of more rows is not read as a whole: filters are for that. */
const PAGES_MAX = 20;

interface Page<Row> {
  data: Row[];
  total: number;
  has_more: boolean;
}

/** Reads a list that a person sees as a whole, such as all routes, page by page to its end, at most 2,000 rows. */
export async function readWholeList<Row>(
  read: (paging: { page: number; page_size: number }) => Promise<Page<Row>>,
): Promise<{ data: Row[]; total: number }> {
  const rows: Row[] = [];
  for (let page = 1; ; page += 1) {
    const { data, total, has_more: hasMore } = await read({ page, page_size: PAGE_SIZE });
    rows.push(...data);
    if (!hasMore || page === PAGES_MAX) return { data: rows, total };
  }
}
