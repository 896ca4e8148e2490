/** Servers that hear of the ends of all jobs, by the settings of this node. */
import { MillraceError, readClusterWebhook } from '../../scheduler/core/index.ts';
import type { Webhook } from '../../scheduler/core/index.ts';
import type { Config } from '../config/index.ts';

export function clusterWebhooks({
  webhook,
  webhookSecrets,
}: Pick<Config['node'], 'webhook' | 'webhookSecrets'>): readonly Webhook[] {
  const webhooks = webhook.flatMap((text) => readClusterWebhook(text) ?? []);
  if (webhooks.length === 0 || webhookSecrets.length > 0) return webhooks;
  throw new MillraceError({
    code: 'bad_setting',
    what: 'The setting webhook needs webhookSecrets: deliveries are signed.',
    todo: 'Set MILLRACE_WEBHOOK_SECRETS on every server of the cluster.',
  });
}
