import { clusterSchemas, type ClusterSchemaName } from './cluster.ts';
import { explanationSchemas, type ExplanationSchemaName } from './explanation.ts';
import { jobSchemas, type JobSchemaName } from './jobs.ts';
import { querySchemas, type QuerySchemaName } from './queries.ts';
import { requestSchemas, type RequestSchemaName } from './requests.ts';
import type { Schema } from './schema.ts';

export type SchemaName =
  | JobSchemaName
  | ExplanationSchemaName
  | ClusterSchemaName
  | QuerySchemaName
  | RequestSchemaName;

/** Everything that has a name in the API's description. */
export const SCHEMAS: Readonly<Record<SchemaName, Schema>> = {
  ...jobSchemas,
  ...explanationSchemas,
  ...clusterSchemas,
  ...querySchemas,
  ...requestSchemas,
};
