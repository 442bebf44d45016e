/** The kinds of the timeline. The service's own table would bring its schemas with it. */
export const EVENT_KINDS = ['status', 'command', 'shadow', 'ota', 'alert'] as const
