import type { Dialect } from './dialect.ts';

export const EMBEDDERS: Dialect = {
  source:
    'https://docs.voyageai.com/reference/embeddings-api, https://jina.ai/embeddings, https://docs.cohere.com/reference/embed and https://docs.nvidia.com/nim/nemo-retriever',
  read: '2026-11-23',
  fields: {
    embeddings: [
      'embedding_type',
      'embedding_types',
      'input_type',
      'late_chunking',
      'normalized',
      'output_dimension',
      'output_dtype',
      'task',
      'truncate',
      'truncation',
    ],
  },
};
