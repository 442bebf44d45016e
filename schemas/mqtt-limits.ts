// The bounds of MQTT messages, for both ends. They are also part of `LIMITS` in `engine/limits.ts`.

export const MQTT_LIMITS = {
  payloadBytesMax: 256 * 1024,
  topicBytesMax: 512,
  topicLevelsMax: 16,
} as const
