import { clusterSchemas, type ClusterSchemaName } from './cluster.ts';
import { explanationSchemas, type ExplanationSchemaName } from './explanation.ts';
import { flowSchemas, type FlowSchemaName } from './flows.ts';
import { jobSchemas, type JobSchemaName } from './jobs.ts';
import { querySchemas, type QuerySchemaName } from './queries.ts';
import { requestSchemas, type RequestSchemaName } from './requests.ts';
import type { Schema } from './schema.ts';

export type SchemaName =
  | JobSchemaName
  | ExplanationSchemaName
  | ClusterSchemaName
  | FlowSchemaName
  | QuerySchemaName
  | RequestSchemaName;

/** Everything that has a name in the API's description. */
export const SCHEMAS: Readonly<Record<SchemaName, Schema>> = {
  ...jobSchemas,
  ...explanationSchemas,
  ...clusterSchemas,
  ...flowSchemas,
  ...querySchemas,
  ...requestSchemas,
};
