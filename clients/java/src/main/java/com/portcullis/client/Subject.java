package com.portcullis.client;

/**
 * The holder of a token.
 *
 * @param id the id in the directory
 * @param name the name of the holder
 * @param type "service_user", "control_panel_user", or "user" where an upstream verifies the token
 */
public record Subject(String id, String name, String type) {}
