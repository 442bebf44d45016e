// The checks of a service, in the order in which they start.
import { ACCOUNTS } from './areas/accounts.ts'
import { ALERTS } from './areas/alerts.ts'
import { COMMANDS } from './areas/commands.ts'
import { DEVICES } from './areas/devices.ts'
import { FIRMWARE } from './areas/firmware.ts'
import { FIRMWARE_OUTCOMES } from './areas/firmware-outcomes.ts'
import { LIVE } from './areas/live.ts'
import { TELEMETRY } from './areas/telemetry.ts'
import type { ServiceCheck } from './steps.ts'

export const SERVICE_CHECKS: readonly ServiceCheck[] = [
  ...FIRMWARE,
  ...FIRMWARE_OUTCOMES,
  ...ALERTS,
  ...ACCOUNTS,
  ...DEVICES,
  ...TELEMETRY,
  ...COMMANDS,
  ...LIVE,
]
