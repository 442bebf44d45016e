// A device of Fleet on an ESP32, with ESP-IDF and its MQTT client. Replace everything that is marked YOURS.
//
// Each connection has a session id of its own, which is in its birth message and in its last will. Messages of QoS 1
// wait in the outbox until they are acknowledged. A command that is delivered twice runs once, even if the device
// restarts in between.
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cJSON.h"
#include "esp_crt_bundle.h"
#include "esp_err.h"
#include "esp_event.h"
#include "esp_log.h"
#include "esp_netif.h"
#include "esp_netif_sntp.h"
#include "esp_random.h"
#include "esp_wifi.h"
#include "freertos/FreeRTOS.h"
#include "freertos/event_groups.h"
#include "freertos/task.h"
#include "mqtt_client.h"
#include "nvs.h"
#include "nvs_flash.h"

#define FIRMWARE_VERSION "1.0.0"
#define HEARTBEAT_SEC 20
#define PAYLOAD_MAX 4096
#define COMMANDS_KEPT 16
#define REQUEST_ID_MAX 64
#define WIFI_UP BIT0
#define MQTT_LOST BIT1
#define MQTT_UP BIT2

static const char *TAG = "fleet";
static EventGroupHandle_t happened;
static esp_mqtt_client_handle_t client;
static char url[128], device_id[65], token[1536], ca[2048], session_id[17], will[160];
static double seen_version = -1;

// --- storage in flash

typedef struct {
    char id[REQUEST_ID_MAX + 1];
    bool done;
} kept_command;

static kept_command kept[COMMANDS_KEPT];
static nvs_handle_t memory;

static bool load_text(const char *key, char *value, size_t size)
{
    return nvs_get_str(memory, key, value, &size) == ESP_OK;
}

static void save_commands(void)
{
    ESP_ERROR_CHECK(nvs_set_blob(memory, "commands", kept, sizeof kept));
    ESP_ERROR_CHECK(nvs_commit(memory));
}

static kept_command *find_command(const char *id)
{
    for (int i = 0; i < COMMANDS_KEPT; i++)
        if (strcmp(kept[i].id, id) == 0) return &kept[i];
    return NULL;
}

static kept_command *keep_command(const char *id)
{
    memmove(&kept[1], &kept[0], sizeof kept - sizeof kept[0]);
    snprintf(kept[0].id, sizeof kept[0].id, "%s", id);
    kept[0].done = false;
    save_commands();
    return &kept[0];
}

// --- publishing

typedef struct {
    char text[160];
} name;

static name topic(const char *suffix)
{
    name found;
    snprintf(found.text, sizeof found.text, "fleet/%s/%s", device_id, suffix);
    return found;
}

/** Publishes the body and frees it. Without a connection the message waits in the outbox, as long as there is
 *  memory. */
static void publish(const char *suffix, cJSON *body, bool retain)
{
    char *text = cJSON_PrintUnformatted(body);
    cJSON_Delete(body);
    if (text == NULL) return;
    if (esp_mqtt_client_enqueue(client, topic(suffix).text, text, 0, 1, retain, true) < 0)
        ESP_LOGW(TAG, "the outbox is full, so a message on %s is lost", suffix);
    cJSON_free(text);
}

static cJSON *status(const char *word, const char *reason)
{
    cJSON *body = cJSON_CreateObject();
    cJSON_AddStringToObject(body, "status", word);
    cJSON_AddStringToObject(body, "reason", reason);
    cJSON_AddStringToObject(body, "session_id", session_id);
    cJSON_AddStringToObject(body, "firmware_version", FIRMWARE_VERSION);
    return body;
}

static void answer(const char *request_id, const char *word, const char *code, const char *message)
{
    cJSON *body = cJSON_CreateObject();
    cJSON_AddStringToObject(body, "request_id", request_id);
    cJSON_AddStringToObject(body, "status", word);
    if (code != NULL) {
        cJSON *error = cJSON_AddObjectToObject(body, "error");
        cJSON_AddStringToObject(error, "code", code);
        cJSON_AddStringToObject(error, "message", message);
    }
    publish("command/ack", body, false);
}

// --- received messages

/** Returns false while the clock is not set. */
static bool has_expired(const cJSON *expires_at)
{
    struct tm at = {0};
    if (!cJSON_IsString(expires_at)) return false;
    if (sscanf(expires_at->valuestring, "%d-%d-%dT%d:%d:%d", &at.tm_year, &at.tm_mon, &at.tm_mday, &at.tm_hour,
               &at.tm_min, &at.tm_sec) != 6)
        return false;
    at.tm_year -= 1900;
    at.tm_mon -= 1;
    // mktime expects local time, which is UTC unless the program sets a time zone.
    return mktime(&at) <= time(NULL);
}

/** YOURS: the commands of the device. Longer work belongs in a task of its own. */
static void blink(const cJSON *data)
{
    const cJSON *times = cJSON_GetObjectItem(data, "times");
    ESP_LOGI(TAG, "blinking %d times", cJSON_IsNumber(times) ? times->valueint : 1);
}

static const struct {
    const char *name;
    void (*carry_out)(const cJSON *data);
} COMMANDS[] = {{"blink", blink}};
#define COMMANDS_KNOWN (sizeof COMMANDS / sizeof COMMANDS[0])

static void on_command(const cJSON *order)
{
    const cJSON *id = cJSON_GetObjectItem(order, "request_id"), *command = cJSON_GetObjectItem(order, "command");
    if (!cJSON_IsString(id) || !cJSON_IsString(command) || strlen(id->valuestring) > REQUEST_ID_MAX) return;
    const char *request_id = id->valuestring;
    const kept_command *known = find_command(request_id);
    size_t at = 0;
    while (at < COMMANDS_KNOWN && strcmp(COMMANDS[at].name, command->valuestring) != 0) at++;
    if (known != NULL && known->done) {
        answer(request_id, "completed", NULL, NULL);
    } else if (known != NULL) {
        answer(request_id, "failed", "INTERRUPTED", "the device restarted");
    } else if (has_expired(cJSON_GetObjectItem(order, "expires_at"))) {
        answer(request_id, "rejected", "EXPIRED", "the command came too late");
    } else if (at == COMMANDS_KNOWN) {
        answer(request_id, "rejected", "UNKNOWN_COMMAND", "this device can blink");
    } else {
        // The id is in the flash before the command begins, so that it is never carried out twice.
        kept_command *begun = keep_command(request_id);
        COMMANDS[at].carry_out(cJSON_GetObjectItem(order, "data"));
        begun->done = true;
        save_commands();
        answer(request_id, "completed", NULL, NULL);
    }
}

static void on_desired(const cJSON *message)
{
    const cJSON *version = cJSON_GetObjectItem(message, "version"), *state = cJSON_GetObjectItem(message, "state");
    if (state == NULL) state = cJSON_GetObjectItem(message, "delta");
    if (!cJSON_IsNumber(version) || !cJSON_IsObject(state) || version->valuedouble <= seen_version) return;
    seen_version = version->valuedouble;
    if (state->child == NULL) return;
    // YOURS: apply the state. null removes a field.
    publish("shadow/reported", cJSON_Duplicate(state, true), false);
}

static bool is_topic(const esp_mqtt_event_t *event, const char *suffix)
{
    const name wanted = topic(suffix);
    return event->topic_len == (int)strlen(wanted.text) && memcmp(event->topic, wanted.text, event->topic_len) == 0;
}

static void on_message(const esp_mqtt_event_t *event)
{
    // A message that is larger than the buffer arrives in parts. Only a very large shadow can be.
    if (event->data_len != event->total_data_len) {
        ESP_LOGE(TAG, "ignored a message of %d bytes, which does not fit into the buffer", event->total_data_len);
        return;
    }
    if (is_topic(event, "error")) {
        ESP_LOGW(TAG, "the service says: %.*s", event->data_len, event->data);
        return;
    }
    cJSON *message = cJSON_ParseWithLength(event->data, event->data_len);
    if (message == NULL) return;
    if (is_topic(event, "command")) on_command(message);
    else on_desired(message);
    cJSON_Delete(message);
}

static void on_connected(void)
{
    const char *topics[] = {"command", "shadow/desired", "shadow/get/accepted", "error"};
    for (size_t i = 0; i < sizeof topics / sizeof topics[0]; i++)
        esp_mqtt_client_subscribe_single(client, topic(topics[i]).text, 1);
    publish("status", status("online", "connect"), true);
    cJSON *reported = cJSON_CreateObject();
    cJSON_AddStringToObject(reported, "led", "off"); // YOURS: the state of the device.
    publish("shadow/reported", reported, false);
    esp_mqtt_client_enqueue(client, topic("shadow/get").text, "", 0, 1, false, true);
}

static void on_mqtt(void *arg, esp_event_base_t base, int32_t id, void *data)
{
    const esp_mqtt_event_t *event = data;
    if (id == MQTT_EVENT_CONNECTED) {
        on_connected();
        xEventGroupSetBits(happened, MQTT_UP);
    } else if (id == MQTT_EVENT_DISCONNECTED) {
        xEventGroupClearBits(happened, MQTT_UP);
        xEventGroupSetBits(happened, MQTT_LOST);
    } else if (id == MQTT_EVENT_DATA) {
        on_message(event);
    } else if (id == MQTT_EVENT_ERROR && event->error_handle->error_type == MQTT_ERROR_TYPE_CONNECTION_REFUSED) {
        ESP_LOGE(TAG, "the service refused the connection with code %d; run `fleet debug %s` for the reason",
                 event->error_handle->connect_return_code, device_id);
    }
}

// --- the connection

/** Creates a session id and a last will that contains it, for a new connection. */
static esp_mqtt_client_config_t new_session(void)
{
    snprintf(session_id, sizeof session_id, "%08" PRIx32 "%08" PRIx32, esp_random(), esp_random());
    cJSON *body = status("offline", "lwt");
    cJSON_PrintPreallocated(body, will, sizeof will, false);
    cJSON_Delete(body);
    static name will_topic;
    will_topic = topic("status");
    return (esp_mqtt_client_config_t){
        .broker.address.uri = url,
        .broker.verification.certificate = ca[0] == '\0' ? NULL : ca,
        .broker.verification.crt_bundle_attach = ca[0] == '\0' ? esp_crt_bundle_attach : NULL,
        .credentials.client_id = device_id,
        .credentials.username = device_id,
        .credentials.authentication.password = token,
        .session.last_will = {.topic = will_topic.text, .msg = will, .qos = 1, .retain = 1},
        .session.disable_clean_session = true,
        .session.keepalive = 60,
        .session.protocol_ver = MQTT_PROTOCOL_V_3_1_1,
        .network.disable_auto_reconnect = true,
        .buffer.size = PAYLOAD_MAX,
        .outbox.limit = 32 * 1024,
    };
}

static void on_wifi(void *arg, esp_event_base_t base, int32_t id, void *data)
{
    if (base == IP_EVENT) xEventGroupSetBits(happened, WIFI_UP);
    else if (id == WIFI_EVENT_STA_START || id == WIFI_EVENT_STA_DISCONNECTED) {
        xEventGroupClearBits(happened, WIFI_UP);
        esp_wifi_connect();
    }
}

static void join_network(void)
{
    wifi_init_config_t init = WIFI_INIT_CONFIG_DEFAULT();
    wifi_config_t network = {0};
    load_text("wifi_ssid", (char *)network.sta.ssid, sizeof network.sta.ssid);
    load_text("wifi_password", (char *)network.sta.password, sizeof network.sta.password);
    ESP_ERROR_CHECK(esp_netif_init());
    ESP_ERROR_CHECK(esp_event_loop_create_default());
    esp_netif_create_default_wifi_sta();
    ESP_ERROR_CHECK(esp_wifi_init(&init));
    ESP_ERROR_CHECK(esp_event_handler_register(WIFI_EVENT, ESP_EVENT_ANY_ID, on_wifi, NULL));
    ESP_ERROR_CHECK(esp_event_handler_register(IP_EVENT, IP_EVENT_STA_GOT_IP, on_wifi, NULL));
    ESP_ERROR_CHECK(esp_wifi_set_mode(WIFI_MODE_STA));
    ESP_ERROR_CHECK(esp_wifi_set_config(WIFI_IF_STA, &network));
    ESP_ERROR_CHECK(esp_wifi_start());
    xEventGroupWaitBits(happened, WIFI_UP, pdFALSE, pdTRUE, portMAX_DELAY);
    // TLS and the expiry of commands need the current time.
    esp_sntp_config_t sntp = ESP_NETIF_SNTP_DEFAULT_CONFIG("pool.ntp.org");
    ESP_ERROR_CHECK(esp_netif_sntp_init(&sntp));
    esp_netif_sntp_sync_wait(pdMS_TO_TICKS(15000));
}

void app_main(void)
{
    happened = xEventGroupCreate();
    ESP_ERROR_CHECK(nvs_flash_init());
    ESP_ERROR_CHECK(nvs_open("fleet", NVS_READWRITE, &memory));
    if (!load_text("url", url, sizeof url) || !load_text("device_id", device_id, sizeof device_id) ||
        !load_text("token", token, sizeof token)) {
        ESP_LOGE(TAG, "the flash lacks url, device_id or token; README.md explains how to write them");
        return;
    }
    load_text("ca", ca, sizeof ca);
    size_t size = sizeof kept;
    if (nvs_get_blob(memory, "commands", kept, &size) != ESP_OK) memset(kept, 0, sizeof kept);
    join_network();

    esp_mqtt_client_config_t config = new_session();
    client = esp_mqtt_client_init(&config);
    ESP_ERROR_CHECK(esp_mqtt_client_register_event(client, ESP_EVENT_ANY_ID, on_mqtt, NULL));
    ESP_ERROR_CHECK(esp_mqtt_client_start(client));
    for (uint32_t failures = 0;;) {
        const TickType_t pause = pdMS_TO_TICKS(HEARTBEAT_SEC * 1000);
        const EventBits_t bits = xEventGroupWaitBits(happened, MQTT_LOST, pdTRUE, pdTRUE, pause);
        if ((bits & MQTT_LOST) == 0) {
            if ((bits & MQTT_UP) == 0) continue;
            failures = 0;
            publish("status", status("online", "heartbeat"), true);
            cJSON *measured = cJSON_CreateObject();
            cJSON_AddNumberToObject(measured, "temperature", 21.5); // YOURS: what the device measures.
            publish("telemetry", measured, false);
            continue;
        }
        // The wait is random, so that a fleet does not reconnect all at once, and at least 10 s.
        failures = failures < 3 ? failures + 1 : 3;
        vTaskDelay(pdMS_TO_TICKS(10000 + esp_random() % (10000 << failures)));
        xEventGroupWaitBits(happened, WIFI_UP, pdFALSE, pdTRUE, portMAX_DELAY);
        config = new_session();
        ESP_ERROR_CHECK(esp_mqtt_set_config(client, &config));
        // The client may not be ready to reconnect yet. If it has connected and lost the connection again, MQTT_LOST is
        // set again.
        while (esp_mqtt_client_reconnect(client) != ESP_OK && (xEventGroupGetBits(happened) & MQTT_UP) == 0)
            vTaskDelay(pdMS_TO_TICKS(1000));
    }
}
