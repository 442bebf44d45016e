import type { JobBody } from '../../../../../schemas/deployment.ts'

/** When a device was last heard of in its rollout. */
export const lastStep = ({
  finished_at,
  confirming_at,
  rebooting_at,
  installing_at,
  downloaded_at,
  downloading_at,
  notified_at,
  created_at,
}: JobBody) =>
  finished_at ??
  confirming_at ??
  rebooting_at ??
  installing_at ??
  downloaded_at ??
  downloading_at ??
  notified_at ??
  created_at
